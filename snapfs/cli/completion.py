"""``snapfs completion``: what a shell needs to complete snapfs' words."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.params import argument
from snapfs.errors import Exit

# snapfs gets the line up to the cursor and the part of it that readline replaces ($2: readline breaks
# words at '@', ':' and '=' too). COMP_WORDBREAKS stays as it is, for other commands need it.
_BASH = """\
_snapfs() {
    local option IFS=' '
    local -a found
    mapfile -t found < <(snapfs __complete bash "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null)
    for option in ${found[0]}; do compopt -o "$option"; done
    COMPREPLY=("${found[@]:1}")
}
complete -F _snapfs snapfs"""
_ZSH = """\
#compdef snapfs
_snapfs() {
    local -a found open
    local files
    found=("${(@f)$(snapfs __complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    files=$found[1]
    shift found
    open=(${(M)found:#*[/@:]})
    found=(${found:#*[/@:]})
    (( $#open )) && compadd -S '' -a open
    (( $#found )) && compadd -a found
    [[ $PREFIX == -*=* ]] && compset -P '*='
    case $files in
        plusdirs) _files -/ ;;
        dirnames) (( $#open + $#found )) || _files -/ ;;
        default) (( $#open + $#found )) || _files ;;
    esac
}
compdef _snapfs snapfs"""
_FISH = """\
function __snapfs_complete
    set -l typed (commandline -ct)
    set -l word "$typed"
    for quote in '' \\' '"'
        if set -l plain (string unescape -- "$typed$quote")
            set word "$plain"
            break
        end
    end
    set -l words (commandline -opc) "$word"
    set -l found (snapfs __complete fish $words[2..-1] 2>/dev/null)
    set -l files $found[1]
    set -e found[1]
    string join \\n -- $found
    if test "$files" = plusdirs; or test (count $found) -eq 0
        switch "$files"
            case default
                __fish_complete_path "$word"
            case dirnames plusdirs
                __fish_complete_directories "$word"
        end
    end
end
complete -c snapfs -f -k -a '(__snapfs_complete)'"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


@dataclass(frozen=True, slots=True)
class Arguments(Common):
    shell: str = argument(
        "bash|zsh|fish", required=True, choices=tuple(_SCRIPTS), about="the shell that will read it"
    )


@dataclass(frozen=True, slots=True)
class Script:
    """A completion script."""

    shell: str
    """bash, zsh or fish"""
    script: str
    """what the shell is to read"""


def run(arguments: Arguments, invocation: Invocation) -> int:
    script = _SCRIPTS[arguments.shell]
    if invocation.json:
        invocation.emit("completion/1", Script(arguments.shell, script))
    else:
        invocation.out.line(script)
    return Exit.DONE


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("completion bash|zsh|fish",),
    description="""\
Prints a script that makes the shell complete commands, options, names of snapshots, labels of roots, and
paths inside snapshots.""",
    examples=(
        Example('eval "$(snapfs completion bash)"', "in ~/.bashrc"),
        Example('eval "$(snapfs completion zsh)"', "in ~/.zshrc, after compinit"),
        Example(
            "snapfs completion fish > ~/.config/fish/completions/snapfs.fish", "once, for fish"
        ),
    ),
    schemas=("completion/1",),
)
