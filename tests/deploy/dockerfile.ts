import { execFileSync } from 'node:child_process'

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

/** The files that a build copies: those of the repository without the example app. */
export function trackedFiles(root: string): readonly string[] {
  return execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\0')
    .filter((file) => file !== '' && !file.startsWith('examples/phone-app/'))
}
