import type { Place } from './completion.ts'

/** Completion for bash. Where no value is known, file names are offered. */
export function bashCompletion(places: readonly Place[]): string {
  return `# bonded completion bash
_bonded() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${path:+$path }$word" in
      ${alternatives(places)}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path $previous" in
${valueCases(places, (values) => `COMPREPLY=($(compgen -W "${values.join(' ')}" -- "$current")); return`, 'COMPREPLY=(); return')}
  esac
  case "$path" in
${places.map((place) => `    "${place.path}") COMPREPLY=($(compgen -W "${offered(place).join(' ')}" -- "$current")) ;;`).join('\n')}
  esac
}
complete -o default -F _bonded bonded`
}

/** Completion for zsh. */
export function zshCompletion(places: readonly Place[]): string {
  return `#compdef bonded
# bonded completion zsh
_bonded() {
  local previous="\${words[CURRENT-1]}" path_=""
  local word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${path_:+$path_ }$word" in
      ${alternatives(places)}) path_="\${path_:+$path_ }$word" ;;
    esac
  done
  case "$path_ $previous" in
${valueCases(places, (values) => `compadd -- ${values.join(' ')}; return`, '_files; return')}
  esac
  case "$path_" in
${places.map((place) => `    "${place.path}") compadd -- ${offered(place).join(' ')} ;;`).join('\n')}
  esac
}
compdef _bonded bonded`
}

/** Completion for fish, with what each word means. */
export function fishCompletion(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, commands, options }) => [
    ...commands.map(
      ({ word, means }) =>
        `complete -c bonded -f -n '__bonded_at "${path}"' -a '${word}' -d '${plain(means)}'`,
    ),
    ...options.map(({ word, means, values, takesValue }) => {
      const value = takesValue ? (values.length > 0 ? ` -x -a '${values.join(' ')}'` : ' -r') : ''
      return `complete -c bonded -n '__bonded_at "${path}"' -l '${word.slice(2)}'${value} -d '${plain(means)}'`
    }),
  ])
  return `# bonded completion fish
function __bonded_at
  set -l path
  for word in (commandline -opc)[2..]
    contains -- "$path $word" ${places.map(({ path }) => `' ${path}'`).join(' ')}; and set path "$path $word"
  end
  test "$path" = "$argv"; or test "$path" = " $argv"
end
${lines.join('\n')}`
}

/** Every path as a pattern of \`case\`. */
function alternatives(places: readonly Place[]): string {
  return places.flatMap(({ path }) => (path === '' ? [] : [`"${path}"`])).join(' | ')
}

function valueCases(
  places: readonly Place[],
  known: (values: readonly string[]) => string,
  unknown: string,
): string {
  return places
    .flatMap(({ path, options }) =>
      options.flatMap(({ word, values, takesValue }) =>
        takesValue
          ? [`    "${path} ${word}") ${values.length > 0 ? known(values) : unknown} ;;`]
          : [],
      ),
    )
    .join('\n')
}

function offered({ commands, options }: Place): readonly string[] {
  return [...commands.map(({ word }) => word), ...options.map(({ word }) => word), '--help']
}

/** Within single quotes of fish. */
function plain(text: string): string {
  return text.replaceAll(/[\\']/g, (mark) => `\\${mark}`)
}
