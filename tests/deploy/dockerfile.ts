/** An instruction of a Dockerfile, with its continuation lines joined. */
export interface Instruction {
  readonly name: string
  readonly rest: string
}

/** Reads the instructions of a Dockerfile without here-documents. */
export function instructionsOf(text: string): readonly Instruction[] {
  return text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/ *\\\n */g, ' ')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [, name = '', rest = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? []
      return { name, rest }
    })
}
