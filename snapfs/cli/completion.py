"""``snapfs completion``: what a shell needs to complete snapfs' words."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.params import argument
from snapfs.errors import Exit

# Readline breaks words at ':' and '@'; snapfs sees the whole line and answers with what replaces the
# last piece. No answer means that file names are offered.
_BASH = """\
_snapfs() {
    local IFS=$'\\n'
    COMPREPLY=($(snapfs __complete bash "${COMP_LINE:0:COMP_POINT}" "${COMP_WORDS[COMP_CWORD]}" 2>/dev/null))
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/@:] ]]; then
        compopt -o nospace
    fi
}
# References have @ and : inside a word.
COMP_WORDBREAKS=${COMP_WORDBREAKS//[@:]/}
complete -o default -F _snapfs snapfs"""
_ZSH = """\
#compdef snapfs
_snapfs() {
    local -a found open
    found=("${(@f)$(snapfs __complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    open=(${(M)found:#*[/@:]})
    found=(${found:#*[/@:]})
    if (( $#open || $#found )); then
        (( $#open )) && compadd -S '' -a open
        (( $#found )) && compadd -a found
    else
        _files
    fi
}
compdef _snapfs snapfs"""
_FISH = """\
function __snapfs_complete
    set -l words (commandline -opc) (commandline -ct)
    snapfs __complete fish $words[2..-1] 2>/dev/null
end
complete -c snapfs -k -a '(__snapfs_complete)'"""
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
