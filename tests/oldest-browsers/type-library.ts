import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { createRequire } from 'node:module'
import { libraryMembers } from './support.ts'

/** The class of a member, at the start of its declaration. */
const CLASS = /^(?: {4})?(interface|declare var) (\w+?)(Constructor)?\b[^{]*\{/
const END_OF_CLASS = /^(?: {4})?\}/
const MEMBER = /^( {4,8}(?:readonly )?)(\w+)(?=[<(:])/
/** A file that only lists others. */
const INDEX = /full|^lib\.es(?:next|6|20\d+)\.d\.ts$/
const GLOBAL = /^declare (?:var|function) (\w+)/

/**
 * Writes TypeScript's own libraries to a folder, with every member that one of the oldest browsers
 * lacks as optional. The compiler then rejects its use, except behind a test for its presence.
 *
 * @returns the files
 */
export function writeTypeLibrary(folder: string): readonly string[] {
  const lacks = lacking()
  const library = compilerLibrary()
  return globSync('lib.{es,dom,decorators}*.d.ts', { cwd: library })
    .filter((name) => !INDEX.test(name))
    .map((name) => {
      const text = readFileSync(join(library, name), 'utf8')
      const file = join(folder, basename(name))
      writeFileSync(file, markOptional(text, lacks))
      return file
    })
}

function compilerLibrary(): string {
  const compiler = createRequire(import.meta.url).resolve('typescript/package.json')
  const build = `@typescript/typescript-${process.platform}-${process.arch}/package.json`
  return join(dirname(createRequire(compiler).resolve(build)), 'lib')
}

/**
 * Members of what a browser passes to a listener, which calls it only where it has them: no
 * desktop has motion sensors.
 */
const WITH_THEIR_EVENT = /^DeviceMotionEvent(?:Acceleration|RotationRate)$/

/** A class, or the object of its static members. */
interface Owner {
  readonly name: string
  readonly isStatic: boolean
}

type Lacks = (owner: Owner | undefined, name: string) => boolean

function lacking(): Lacks {
  const known = new Map<string, boolean>()
  const anywhere = new Map<string, boolean>()
  for (const { owner = '', name, isStatic, isSupported } of libraryMembers()) {
    for (const kind of isStatic === undefined ? [true, false] : [isStatic])
      known.set(`${owner}.${name}.${owner !== '' && kind}`, isSupported)
    anywhere.set(name, isSupported || anywhere.get(name) === true)
  }
  return (owner, name) => {
    if (owner === undefined) return known.get(`.${name}.false`) === false
    if (WITH_THEIR_EVENT.test(owner.name)) return false
    return (
      known.get(`${owner.name}.${name}.${owner.isStatic}`) === false ||
      // The data have no mixins, such as `ParentNode`: they list the members in each class.
      (!known.has(`.${owner.name}.false`) && anywhere.get(name) === false)
    )
  }
}

function markOptional(text: string, lacks: Lacks): string {
  let owner: Owner | undefined
  let isMissing = false
  return text
    .split('\n')
    .flatMap((line) => {
      if (line.startsWith('/// <reference')) return []
      const global = GLOBAL.exec(line)?.[1]
      if (global !== undefined) isMissing = lacks(undefined, global)
      if (global !== undefined && isMissing && line.startsWith('declare function')) return []
      const [, kind, name, ofClass] = CLASS.exec(line) ?? []
      if (name !== undefined)
        owner = { name, isStatic: kind !== 'interface' || ofClass !== undefined }
      if (END_OF_CLASS.test(line)) owner = undefined
      if (isMissing && /^(?:\}|declare var [^{]*);$/.test(line)) {
        isMissing = false
        return [line.replace(/;$/, ' | undefined;')]
      }
      return [
        line.replace(MEMBER, (all, lead: string, name: string) =>
          owner !== undefined && lacks(owner, name) ? `${lead}${name}?` : all,
        ),
      ]
    })
    .join('\n')
}
