import type { CompletedOption, Place, Value } from './completion.ts'

/** Completion for bash. Each value is completed by its kind: a choice, a file, or a folder. */
export function bashCompletion(places: readonly Place[]): string {
  return `# bonded completion bash
_bonded() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path="" word
  local IFS=$' \\t\\n'
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${path:+$path }$word" in
      ${alternatives(places)}) path="\${path:+$path }$word" ;;
    esac
  done
  COMPREPLY=()
  case "$path $previous" in
${valueCases(places, (value) => `${bashValue(value)}; return`)}
  esac
  if [[ "$current" == -* ]]; then
    case "$path" in
${placeCases(places, (place) => bashWords(optionWords(place)))}
    esac
    return
  fi
  case "$path" in
${placeCases(places, (place) => [...place.values.map(bashValue), bashWords(commandWords(place))].join('; '))}
  esac
}
complete -F _bonded bonded`
}

function bashValue(value: Value): string {
  if (typeof value === 'object') return bashWords(value.choices)
  if (value === 'text') return 'COMPREPLY=()'
  // Names can contain spaces. compopt, which bash 3 does not have, adds the slash of a folder.
  return `IFS=$'\\n'; compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen ${value === 'folder' ? '-d' : '-f'} -- "$current")); IFS=$' \\t\\n'`
}

function bashWords(words: readonly string[]): string {
  return `COMPREPLY+=($(compgen -W "${words.join(' ')}" -- "$current"))`
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
${valueCases(places, (value) => `${zshValue(value)}; return`)}
  esac
  if [[ "$PREFIX" == -* ]]; then
    case "$path_" in
${placeCases(places, (place) => zshWords(optionWords(place)))}
    esac
    return
  fi
  case "$path_" in
${placeCases(places, (place) => [...place.values.map(zshValue), zshWords(commandWords(place))].join('; '))}
  esac
}
compdef _bonded bonded`
}

function zshValue(value: Value): string {
  if (typeof value === 'object') return zshWords(value.choices)
  return { text: ':', file: '_files', folder: '_files -/' }[value]
}

function zshWords(words: readonly string[]): string {
  return `compadd -- ${words.join(' ')}`
}

/** Completion for fish, with what each word means. */
export function fishCompletion(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, commands, values, options, settings }) => {
    const at = `complete -c bonded -n '__bonded_at "${path}"'`
    return [
      `${at} ${values.includes('file') ? '-F' : '-f'}`,
      ...commands.map(({ word, means }) => `${at} -f -a '${word}' -d '${plain(means)}'`),
      ...values.flatMap((value) =>
        typeof value === 'object' ? [`${at} -f -a '${value.choices.join(' ')}'`] : [],
      ),
      ...[...options, ...settings].map(
        ({ word, means, value }) =>
          `${at} -l '${word.slice(2)}'${value === undefined ? '' : ` ${fishValue(value)}`} -d '${plain(means)}'`,
      ),
    ]
  })
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

function fishValue(value: Value): string {
  if (typeof value === 'object') return `-x -a '${value.choices.join(' ')}'`
  return { text: '-x', file: '-r -F', folder: `-x -a '(__fish_complete_directories)'` }[value]
}

/** Every path as a pattern of `case`. */
function alternatives(places: readonly Place[]): string {
  return places.flatMap(({ path }) => (path === '' ? [] : [`"${path}"`])).join(' | ')
}

/** One line of `case` for each option that takes a value. */
function valueCases(places: readonly Place[], complete: (value: Value) => string): string {
  return places
    .flatMap(({ path, options, settings }) =>
      [...options, ...settings].flatMap(({ word, value }) =>
        value === undefined ? [] : [`    "${path} ${word}") ${complete(value)} ;;`],
      ),
    )
    .join('\n')
}

function placeCases(places: readonly Place[], complete: (place: Place) => string): string {
  return places.map((place) => `    "${place.path}") ${complete(place)} ;;`).join('\n')
}

/** What is offered before a dash is typed: the settings would hide the rest. */
function commandWords({ commands, options }: Place): readonly string[] {
  return [...wordsOf(commands), ...wordsOf(options), '--help']
}

function optionWords({ options, settings }: Place): readonly string[] {
  return [...wordsOf(options), ...wordsOf(settings), '--help']
}

function wordsOf(words: readonly Pick<CompletedOption, 'word'>[]): readonly string[] {
  return words.map(({ word }) => word)
}

/** Within single quotes of fish. */
function plain(text: string): string {
  return text.replaceAll(/[\\']/g, (mark) => `\\${mark}`)
}
