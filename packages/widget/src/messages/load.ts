import { matchLanguage, type Members, NO_MEMBERS, parseMembers } from '@bonded/contract'
import { loadFile } from '../load-file.ts'
import { en, type Messages } from './messages.ts'

/** Where the service serves the languages, inserted by the bundler. */
declare const PULSE_LANGUAGES_PATH: string
/** The integrity of the index of the languages, inserted by the bundler. */
declare const PULSE_LANGUAGES_INTEGRITY: string

/** The texts of a language, with its tag. */
export interface LoadedMessages {
  /** A tag of BCP 47 in lower case, such as `pt-br`. */
  readonly tag: string
  readonly messages: Messages
  /** The texts of the browser's proof in this language; absent for English, which its code has. */
  readonly proof?: { readonly url: URL; readonly integrity: string }
}

/**
 * The texts for the first of these languages that the widget has, from the service. English is in
 * the script, and what is used where a language is unknown or cannot be loaded.
 *
 * @param origin the origin of the service, from which the script was loaded
 * @example await loadMessages(['de-AT', 'en'], origin) // { tag: 'de', messages }
 */
export async function loadMessages(
  wanted: readonly string[],
  origin: string | undefined,
): Promise<LoadedMessages> {
  try {
    // The index is loaded for a language before English only.
    if (wanted[0] && !matchLanguage([wanted[0]], ['en'])) {
      const folder = new URL(PULSE_LANGUAGES_PATH, origin)
      const index = await loadMembers(new URL('index.json', folder), PULSE_LANGUAGES_INTEGRITY)
      const tag = matchLanguage(wanted, ['en', ...Object.keys(index)])
      if (tag && tag !== 'en') {
        const language = await loadMembers(new URL(`${tag}.json`, folder), index[tag] as string)
        return {
          tag,
          messages: unpack(en, language),
          proof: { url: new URL(`leg-${tag}.json`, folder), integrity: language['leg'] as string },
        }
      }
    }
  } catch (cause) {
    console.warn('Pulse: the language could not be loaded.', cause)
  }
  return { tag: 'en', messages: en }
}

/** Loads a file of the service that holds an object. It rejects for any other content. */
export async function loadMembers(url: URL, integrity: string): Promise<Members> {
  return parseMembers(await loadFile(url, integrity)) ?? NO_MEMBERS
}

/** Gives the texts of a file, which come in the order of English, the keys of English. */
export function unpack<T extends object>(
  shape: T,
  { texts }: Members,
  left: Iterator<string> = (texts as string[]).values(),
): T {
  return Object.fromEntries(
    Object.entries(shape).map(([key, value]) => [
      key,
      typeof value === 'string' ? left.next().value : unpack(value, {}, left),
    ]),
  ) as T
}
