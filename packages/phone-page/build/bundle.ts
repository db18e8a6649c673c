import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'esbuild'

/** A script and a style of one document. All values are text in UTF-8. */
interface DocumentFiles {
  readonly script: string
  /** `sha384-…` of the script, for `integrity=`. */
  readonly scriptIntegrity: string
  /**
   * Sixteen hexadecimal digits of the script's SHA-256, for an address that never changes its
   * content.
   */
  readonly scriptHash: string
  readonly style: string
  /** `sha256-…` of the style, for `style-src` of a Content Security Policy. */
  readonly styleHash: string
}

/** What the document itself says: in a browser that is too old, and until its script has drawn. */
type DocumentWords = Readonly<
  Record<'tooOldTitle' | 'tooOldBody' | 'unloadedTitle' | 'unloadedBody' | 'retry', string>
>

/** The phone page and the service's frame, ready to be served. */
export interface PhonePageFiles extends DocumentFiles {
  /**
   * The words of each language but English, by tag, and of the inbox by `inbox-tag`: a JSON array
   * in the order of the English ones, whose names it does not repeat.
   */
  readonly languages: ReadonlyMap<string, string>
  /**
   * Sixteen hexadecimal digits over all languages: the script loads them from an address with it.
   */
  readonly languagesHash: string
  /** The inline script of the document, in ES5. */
  readonly start: string
  /** `sha256-…` of it, for `script-src`. */
  readonly startHash: string
  /** By the tag of the language, English among them. */
  readonly documentWords: ReadonlyMap<string, DocumentWords>
  /** The frame in which the browser of a tenant's page proves itself. It has its own languages. */
  readonly frame: DocumentFiles
  /** The portal in which a tenant sees its webhook deliveries. */
  readonly portal: DocumentFiles
  /** The page of the requests that wait for a user. */
  readonly inbox: DocumentFiles
  /** The service worker of the inbox. */
  readonly serviceWorker: string
}

interface Sources {
  readonly script: string
  readonly style: string
}

/** The page as it is stored in a published package. */
export interface PhonePageBundle {
  readonly script: string
  readonly style: string
  readonly languages: Readonly<Record<string, string>>
  readonly start: string
  readonly documentWords: Readonly<Record<string, DocumentWords>>
  readonly frame: Sources
  readonly portal: Sources
  readonly inbox: Sources
  readonly serviceWorker: string
}

/**
 * The prebuilt files of a published package, or the sources bundled now. The same sources give the
 * same bytes.
 *
 * @example const { script, style } = await loadPhonePage()
 */
export async function loadPhonePage(): Promise<PhonePageFiles> {
  const { languages, start, documentWords, frame, portal, inbox, serviceWorker, ...page } =
    (await prebuilt()) ?? (await bundle())
  return {
    ...documentFiles(page),
    start,
    startHash: integrityOf(start, 'sha256'),
    documentWords: new Map(Object.entries(documentWords)),
    languages: new Map(Object.entries(languages)),
    languagesHash: hashOf(JSON.stringify(languages)),
    frame: documentFiles(frame),
    portal: documentFiles(portal),
    inbox: documentFiles(inbox),
    serviceWorker,
  }
}

function documentFiles({ script, style }: Sources): DocumentFiles {
  return {
    script,
    scriptIntegrity: integrityOf(script, 'sha384'),
    scriptHash: hashOf(script),
    style,
    styleHash: integrityOf(style, 'sha256'),
  }
}

function integrityOf(text: string, algorithm: 'sha256' | 'sha384'): string {
  return `${algorithm}-${createHash(algorithm).update(text).digest('base64')}`
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

async function prebuilt(): Promise<PhonePageBundle | undefined> {
  const read = (name: string) => readFile(new URL(name, import.meta.url), 'utf8')
  try {
    return {
      script: await read('./phone-page.js'),
      style: await read('./phone-page.css'),
      languages: JSON.parse(
        await read('./phone-page-languages.json'),
      ) as PhonePageBundle['languages'],
      start: await read('./phone-page-start.js'),
      documentWords: JSON.parse(
        await read('./phone-page-document-words.json'),
      ) as PhonePageBundle['documentWords'],
      frame: { script: await read('./browser-frame.js'), style: await read('./browser-frame.css') },
      portal: {
        script: await read('./webhook-portal.js'),
        style: await read('./webhook-portal.css'),
      },
      inbox: { script: await read('./inbox.js'), style: await read('./inbox.css') },
      serviceWorker: await read('./inbox-worker.js'),
    }
  } catch {
    // The repository has no prebuilt files.
    return undefined
  }
}

type Words = Readonly<Record<string, object>>

/**
 * Reads `languages/`, in a fixed order and without names. The inbox has words of its own too:
 * `inbox-de` is German with both.
 */
async function readLanguages(): Promise<Record<string, string>> {
  const folder = new URL('../languages/', import.meta.url)
  const read = async (url: URL) => JSON.parse(await readFile(url, 'utf8')) as object
  const inbox = (await read(new URL('../inbox-words.json', import.meta.url))) as Words
  const languages: Record<string, string> = {}
  for (const file of (await readdir(folder)).toSorted()) {
    const tag = file.replace(/\.json$/, '')
    const words = await read(new URL(file, folder))
    languages[tag] = JSON.stringify(Object.values(words))
    languages[`inbox-${tag}`] = JSON.stringify(Object.values({ ...words, ...inbox[tag] }))
  }
  return languages
}

/** Bundles the sources with esbuild. */
export async function bundle(): Promise<PhonePageBundle> {
  const languages = await readLanguages()
  const readWords = (name: string) => readFile(new URL(`../${name}`, import.meta.url), 'utf8')
  // Loaded here, so that a published package needs no bundler.
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    absWorkingDir: fileURLToPath(new URL('..', import.meta.url)),
    entryPoints: {
      'phone-page': 'src/main.ts',
      style: 'src/style.css',
      frame: 'src/frame/main.ts',
      'frame-style': 'src/frame/style.css',
      portal: 'src/portal/main.ts',
      'portal-style': 'src/portal/style.css',
      inbox: 'src/inbox/main.ts',
      'inbox-style': 'src/inbox/style.css',
      'inbox-worker': 'src/inbox/worker.ts',
    },
    outdir: 'dist',
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es2022',
    conditions: ['@bonded/source'],
    // The service serves the languages at this address.
    define: {
      BONDED_WORDS_PATH: JSON.stringify(`/bond/words-${hashOf(JSON.stringify(languages))}`),
      BONDED_FRAME_WORDS: JSON.stringify(JSON.parse(await readWords('frame-words.json'))),
    },
    plugins: [leanSchemas],
    minify: true,
    charset: 'utf8',
    legalComments: 'none',
    tsconfigRaw: {},
  })
  // It explains the page to browsers that cannot read the other scripts.
  const start = await build({
    entryPoints: [fileURLToPath(new URL('../src/document/start.ts', import.meta.url))],
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es5',
    minify: true,
    charset: 'utf8',
    tsconfigRaw: {},
  })
  const textOf = (name: string) =>
    (outputFiles.find(({ path }) => basename(path) === name)?.text ?? '').trim()
  return {
    script: textOf('phone-page.js'),
    style: textOf('style.css'),
    languages,
    start: start.outputFiles[0]!.text.trim(),
    documentWords: JSON.parse(
      await readWords('document-words.json'),
    ) as PhonePageBundle['documentWords'],
    frame: { script: textOf('frame.js'), style: textOf('frame-style.css') },
    portal: { script: textOf('portal.js'), style: textOf('portal-style.css') },
    inbox: { script: textOf('inbox.js'), style: textOf('inbox-style.css') },
    serviceWorker: textOf('inbox-worker.js'),
  }
}

/** The description of a schema: texts for readers of the API. No phone uses them. */
const DESCRIPTION = /\bdescription:\s*(?:'(?:[^'\\\n]|\\.)*'[\s+]*)+,?/g

/** A call that builds a schema, of which the bundle needs only those that it uses. */
const BUILDER =
  /(?<![\w.])(?<!function )(?:Type\.\w+|closed|nullable|word|id|base64url|newPasskey)(?=[<(])/g

/** A schema, which esbuild keeps without a use if it spreads members or computes a name. */
const SCHEMA =
  /^((?:export )?const \w+ = )((?:\/\* @__PURE__ \*\/ )?(?:closed|Type\.\w+)(?:<[^()]*\n>)?\(\{?\n(?:(?: .*)?\n)*[})].*?)(;?)$/gm

/** The source of schemas without what only readers of the API need, so that bundles stay small. */
export function leanSchemaSource(source: string): string {
  return source
    .replaceAll(DESCRIPTION, (text) => text.replaceAll(/[^\n]/g, ''))
    .replaceAll(BUILDER, '/* @__PURE__ */ $&')
    .replaceAll(SCHEMA, '$1/* @__PURE__ */ (() => $2)()$3')
}

/** Rules of requests, and lists of words. A phone checks neither in a response. */
const UNCHECKED =
  /\b(?:m(?:ax|in)Length|maxItems|maximum|additionalProperties):\s*[\w.']+,?|\bformat:\s*(?:DISPLAY_\w+|IP_ADDRESS|'[\w-]+'),?/g
const WORDS = /\bword\((?:[^()]|\([^()]*\))*\)/g

const leanSchemas: Plugin = {
  name: 'lean-schemas',
  setup(build) {
    build.onLoad(
      { filter: /[\\/]contract[\\/]src[\\/]schemas[\\/][\w-]+\.ts$/ },
      async ({ path }) => ({
        contents: leanSchemaSource(
          (await readFile(path, 'utf8'))
            .replaceAll(UNCHECKED, '')
            .replaceAll(WORDS, 'Type.String()'),
        ),
        loader: 'ts',
      }),
    )
  },
}
