# SPDX-License-Identifier: BSD-2-Clause
# Completion of ktracectl for fish. ktracectl itself knows what is possible.

function __ktracectl_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    command --query $words[1]; or return # fish would report it
    for line in ($words[1] complete -- $words[2..] "$current" 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path "$current"
            case :directories
                __fish_complete_directories "$current"
            case :traces # directories and archives
                __fish_complete_directories "$current"
                __fish_complete_path "$current" | string match -r '^[^\t]*\.tar(?:\.zst)?(?:\t.*)?$'
            case :programs
                complete -C "$current"
            case '*'
                echo $line
        end
    end
end

complete -c ktracectl -f -a '(__ktracectl_complete)'
