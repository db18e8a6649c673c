import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PulseFile } from './bundle.ts'

/** The languages beside English, and the index that the script loads first. */
export interface LanguageFiles {
  /** The path of all files, which names the content of the index: `/v1/lang/<hash>/`. */
  readonly folder: string
  /** `sha256-…` of the index. */
  readonly integrity: string
  /** The index first. */
  readonly files: readonly PulseFile[]
}

/**
 * Reads the languages: each `<tag>.json` beside `en.json`. The index lists their integrity values
 * by lower-case tag, so that the script contains one integrity value instead of forty.
 *
 * @param proofFolder the same languages of the browser's proof. Each is a file of its own, whose
 *   integrity is in the language of the widget.
 */
export async function readLanguages(
  folder: string,
  integrityOf: (text: string) => string,
  proofFolder?: string,
): Promise<LanguageFiles> {
  const names = (await readdir(folder))
    .filter((name) => name.endsWith('.json') && name !== 'en.json')
    .toSorted()
  const english = await englishIn(folder)
  const englishProof = proofFolder === undefined ? {} : await englishIn(proofFolder)
  const fileOf = (name: string, content: object) => {
    const source = JSON.stringify(content)
    return { name, source, integrity: integrityOf(source) }
  }
  const languages = await Promise.all(
    names.map(async (name) => {
      const proof =
        proofFolder === undefined
          ? undefined
          : fileOf(`leg-${name.toLowerCase()}`, {
              texts: await textsIn(proofFolder, name, englishProof),
            })
      const texts = await textsIn(folder, name, english)
      const file = fileOf(name.toLowerCase(), { texts, ...(proof && { leg: proof.integrity }) })
      return { ...file, proof }
    }),
  )
  const index = JSON.stringify(
    Object.fromEntries(
      languages.map(({ name, integrity }) => [name.slice(0, -'.json'.length), integrity]),
    ),
  )
  const hash = createHash('sha256').update(index).digest('hex').slice(0, 16)
  const path = `/v1/lang/${hash}/`
  const integrity = integrityOf(index)
  return {
    folder: path,
    integrity,
    files: [
      { path: `${path}index.json`, source: index, integrity },
      ...languages
        .flatMap(({ proof, ...file }) => (proof ? [file, proof] : [file]))
        .map(({ name, ...file }) => ({ path: path + name, ...file })),
    ],
  }
}

/** Texts by key, and groups of them. */
interface Texts {
  readonly [key: string]: string | Texts
}

/**
 * The texts of a language without their keys, in the order of English, which the script has. Keys
 * would take a fifth of the file.
 */
async function textsIn(folder: string, name: string, english: Texts): Promise<readonly string[]> {
  return inOrder(JSON.parse(await readFile(join(folder, name), 'utf8')), english)
}

async function englishIn(folder: string): Promise<Texts> {
  return JSON.parse(await readFile(join(folder, 'en.json'), 'utf8'))
}

function inOrder(texts: Texts, english: Texts): readonly string[] {
  return Object.entries(english).flatMap(([key, value]) =>
    typeof value === 'string' ? [String(texts[key])] : inOrder(texts[key] as Texts, value),
  )
}
