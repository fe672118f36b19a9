#compdef ktracectl
# SPDX-License-Identifier: BSD-2-Clause
# Completion of ktracectl for zsh. ktracectl itself knows what is possible.

_ktracectl() {
	local line
	local -a words_before plain keys
	words_before=("${(@Q)words[2,CURRENT-1]}")
	for line in "${(@f)$("${(Q)words[1]}" complete -- "${words_before[@]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
		case $line in
		'') ;;
		:files) _files ;;
		:directories) _files -/ ;;
		:traces) _files -g '*.tar(|.zst)' ;;
		:programs) _command_names -e ;;
		*=$'\t'*) keys+=("${${line%%$'\t'*}//:/\\\\:}:${line#*$'\t'}") ;;
		*) plain+=("${${line%%$'\t'*}//:/\\\\:}:${line#*$'\t'}") ;;
		esac
	done
	(( ! $#keys )) || _describe -t values value keys -S ''
	(( ! $#plain )) || _describe -t values value plain
}

_ktracectl "$@"
