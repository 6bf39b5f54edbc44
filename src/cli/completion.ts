/** `cellar completion`: scripts that complete verbs and options in a shell, made of the program. */
import type { Command } from 'commander'
import { invalidArgument } from '../api/index.js'

/** The words that may follow a verb. */
interface Verb {
  readonly name: string
  readonly words: readonly string[]
}

function verbsOf(program: Command): Verb[] {
  return program.commands.map((verb) => {
    const options = verb.options.flatMap(({ long }) => long ?? [])
    const own = verb.commands.map((command) => command.name())
    return { name: verb.name(), words: [...own, ...options, '--help'] }
  })
}

function bash(verbs: readonly Verb[]): string {
  const cases = verbs.map(({ name, words }) => `    ${name}) words="${words.join(' ')}" ;;`)
  return `_cellar() {
  local words="${verbs.map(({ name }) => name).join(' ')} --help --version"
  [ "$COMP_CWORD" -gt 1 ] && case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
    *) words="" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _cellar cellar
`
}

function fish(verbs: readonly Verb[]): string {
  const lines = verbs.flatMap(({ name, words }) => [
    `complete -c cellar -n __fish_use_subcommand -a ${name}`,
    ...words
      .filter((word) => word.startsWith('--'))
      .map(
        (word) => `complete -c cellar -n '__fish_seen_subcommand_from ${name}' -l ${word.slice(2)}`,
      ),
  ])
  return `${lines.join('\n')}\n`
}

/** The script for a shell: `bash`, `zsh` or `fish`. `ERR_INVALID_ARGUMENT` for another one. */
export function completionScript(program: Command, shell: string): string {
  const verbs = verbsOf(program)
  if (shell === 'bash') return bash(verbs)
  if (shell === 'zsh') return `autoload -U +X bashcompinit && bashcompinit\n${bash(verbs)}`
  if (shell === 'fish') return fish(verbs)
  throw invalidArgument(`no completion for '${shell}'; there are bash, zsh, fish`)
}
