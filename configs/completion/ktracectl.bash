# SPDX-License-Identifier: BSD-2-Clause
# Completion of ktracectl for bash. ktracectl itself knows what is possible.
# shellcheck shell=bash

_ktracectl() {
	local words=() rest=${COMP_LINE:0:COMP_POINT} trimmed piece i
	# bash also splits words at '=' and ':'. Those with a blank between them are words of ktracectl.
	for ((i = 0; i <= COMP_CWORD; i++)); do
		trimmed=${rest#"${rest%%[![:blank:]]*}"}
		piece=${COMP_WORDS[i]}
		((i < COMP_CWORD)) || piece=$trimmed
		if ((i == 0)) || [[ $trimmed != "$rest" ]]; then
			words+=("$piece")
		else
			words[${#words[@]} - 1]+=$piece
		fi
		rest=${trimmed#"$piece"}
	done
	local current=${words[${#words[@]} - 1]} before='' files='' line value
	# What bash does not replace: the current word up to its last separator.
	if [[ $current == *[=:]* && $COMP_WORDBREAKS == *=* && $COMP_WORDBREAKS == *:* ]]; then
		before=${current%"${current##*[=:]}"}
	fi
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:files) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "${current#"$before"}") ;;
		:directories) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "${current#"$before"}") ;;
		:traces)
			value=${current#"$before"} # directories and archives
			mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$value"; compgen -f -X '!*.tar' -- "$value"; compgen -f -X '!*.tar.zst' -- "$value")
			;;
		:programs) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -c -- "$current") ;;
		*)
			value=${line%%$'\t'*}
			COMPREPLY+=("${value#"$before"}")
			continue
			;;
		esac
		files=yes
		compopt -o filenames 2>/dev/null # readline quotes all values then
	done < <("${COMP_WORDS[0]}" complete -- "${words[@]:1}" 2>/dev/null)
	# Names of snapshots may have blanks, and what the shell would expand or run.
	for ((i = 0; i < ${#COMPREPLY[@]}; i++)); do
		[[ -z $files && ${COMPREPLY[i]} == *[!a-zA-Z0-9_.,:=/@%+-]* ]] || continue
		printf -v "COMPREPLY[i]" %q "${COMPREPLY[i]}"
	done
	if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *= ]]; then
		compopt -o nospace 2>/dev/null
	fi
	return 0
}

complete -F _ktracectl ktracectl
