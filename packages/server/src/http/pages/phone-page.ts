import { directionOf, matchLanguage } from '@bonded/contract'
import type { FastifyInstance } from 'fastify'
import type { Service, Settings } from '@bonded/core/operations/service'
import { limitPage } from './page-limits.ts'
import type { DocumentFiles } from './framed-page.ts'
import { Rejected } from '../response/rejected.ts'
import {
  buildOnce,
  type StaticFile,
  sendHashedFile,
  sendStaticFile,
  staticFile,
} from './static-file.ts'

/** The files of the phone page, as `@bonded/phone-page` builds them. */
export interface PhonePageFiles extends DocumentFiles {
  /** JSON of the words of each language but English, by its tag; for the inbox by `inbox-tag`. */
  readonly languages: ReadonlyMap<string, string>
  /** Hexadecimal hash of all languages, used in their URLs. */
  readonly languagesHash: string
  /** The inline script of the document. */
  readonly start: string
  /** `sha256-…` of it. */
  readonly startHash: string
  /** What the document itself says, by the tag of the language, English among them. */
  readonly documentWords: ReadonlyMap<
    string,
    Readonly<
      Record<'tooOldTitle' | 'tooOldBody' | 'unloadedTitle' | 'unloadedBody' | 'retry', string>
    >
  >
  /** The service's frame in the pages of tenants. */
  readonly frame: DocumentFiles
  /** The portal of webhooks. */
  readonly portal: DocumentFiles
  /** The page of the requests that wait for a user. */
  readonly inbox: DocumentFiles
  /** The service worker of the inbox. */
  readonly serviceWorker: string
}

/**
 * Loads the files at the first request, because bundling them takes longer than starting the
 * service.
 */
export type LoadPhonePage = () => Promise<PhonePageFiles>

export const PHONE_PAGE_PATH = '/bond'
const LANGUAGE_PATH = '/bond/words-:hash/:language.json'

/** A document, and the prefix of the names of its languages. */
interface PageAddress {
  readonly path: string
  readonly prefix: string
  /** The path of its service worker, and the policy of Trusted Types that returns it. */
  readonly worker?: { readonly path: string; readonly policy: string }
}
const HANDOFF: PageAddress = { path: PHONE_PAGE_PATH, prefix: '' }
const INBOX = {
  path: '/inbox',
  prefix: 'inbox-',
  worker: { path: '/inbox/worker.js', policy: 'inbox-worker' },
} as const satisfies PageAddress

/**
 * Serves the page of a handoff link, where the user approves on a phone without the app, and the
 * inbox, to which no link leads a request. Each document is the same for everybody. A request for
 * it changes no state, because messengers fetch links to preview them.
 */
export function servePhonePage(
  app: FastifyInstance,
  { service, load }: { readonly service: Service; readonly load: LoadPhonePage },
): void {
  const files = buildOnce(load)
  const page = buildOnce(async () => assemble(await files(), service.settings, HANDOFF))
  const inbox = buildOnce(async () => {
    const all = await files()
    return assemble({ ...all, ...all.inbox }, service.settings, INBOX)
  })

  for (const [{ path }, served] of [
    [HANDOFF, page],
    [INBOX, inbox],
  ] as const) {
    app.get(path, limitPage(service, 'handoff'), async (request, reply) => {
      const { html, contentSecurityPolicy, tags } = await served()
      const wanted = acceptedLanguages(request.headers['accept-language'])
      const file = await html.get(matchLanguage(wanted, tags) ?? 'en')!()
      reply
        .header('content-security-policy', contentSecurityPolicy)
        .header('permissions-policy', PERMISSIONS_POLICY)
        // A page that opened this one cannot navigate it to another request under the finger.
        .header('cross-origin-opener-policy', 'same-origin')
      const vary = 'Accept-Encoding, Accept-Language'
      return sendStaticFile(request, reply, { file, cacheControl: 'no-cache', vary })
    })
    app.get(`${path}/page-:hash.js`, limitPage(service, 'handoff'), async (request, reply) => {
      const { script, scriptHash } = await served()
      return sendHashedFile(request, reply, { file: script, hash: scriptHash })
    })
  }
  const worker = buildOnce(async () =>
    staticFile((await files()).serviceWorker, 'text/javascript; charset=utf-8'),
  )
  app.get(INBOX.worker.path, limitPage(service, 'handoff'), async (request, reply) => {
    reply
      // The worker can fetch nothing.
      .header('content-security-policy', "default-src 'none'")
      .header('service-worker-allowed', INBOX.path)
    return sendStaticFile(request, reply, { file: await worker(), cacheControl: 'no-cache' })
  })
  app.get<{ Params: { language: string } }>(
    LANGUAGE_PATH,
    limitPage(service, 'handoff'),
    async (request, reply) => {
      const { languages, languagesHash } = await page()
      const words = languages.get(request.params.language)
      if (words === undefined) throw new Rejected({ reason: 'page_not_found' })
      return sendHashedFile(request, reply, { file: await words(), hash: languagesHash })
    },
  )
}

/** The page uses only the motion sensors and passkeys of the phone. */
const PERMISSIONS_POLICY =
  'accelerometer=(self), gyroscope=(self), publickey-credentials-create=(self), publickey-credentials-get=(self), camera=(), geolocation=(), microphone=()'

/** Compressed when it is first requested: those of all languages take a second. */
type LazyFile = () => Promise<StaticFile>

interface ServedPage extends Pick<PhonePageFiles, 'scriptHash' | 'languagesHash'> {
  /** The document in each language. */
  readonly html: ReadonlyMap<string, LazyFile>
  readonly tags: readonly string[]
  readonly script: StaticFile
  readonly languages: ReadonlyMap<string, LazyFile>
  readonly contentSecurityPolicy: string
}

async function assemble(
  files: PhonePageFiles,
  settings: Settings,
  address: PageAddress,
): Promise<ServedPage> {
  const { script, scriptHash, startHash, styleHash, languages, languagesHash, documentWords } =
    files
  const socketOrigin = settings.publicOrigin.replace(/^http/, 'ws')
  const tags = [...documentWords.keys()]
  return {
    script: await staticFile(script, 'text/javascript; charset=utf-8'),
    scriptHash,
    languages: new Map(
      [...languages].map(([tag, words]) => [
        tag,
        buildOnce(() => staticFile(words, 'application/json; charset=utf-8')),
      ]),
    ),
    languagesHash,
    contentSecurityPolicy: [
      "default-src 'none'",
      `script-src 'self' '${startHash}'`,
      `style-src '${styleHash}'`,
      `connect-src 'self' ${socketOrigin}`,
      // The logos of tenants, which the service serves.
      "img-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      ...(address.worker === undefined
        ? ["trusted-types 'none'"]
        : [
            `trusted-types ${address.worker.policy}`,
            `worker-src ${settings.publicOrigin}${address.worker.path}`,
          ]),
    ].join('; '),
    tags,
    html: new Map(
      tags.map((tag) => [
        tag,
        buildOnce(async () =>
          staticFile(
            documentIn(tag, { ...files, ...address }, settings),
            'text/html; charset=utf-8',
          ),
        ),
      ]),
    ),
  }
}

/** The first languages of a browser. More would let a caller spend the service's time. */
const MAX_LANGUAGES = 3

/**
 * The languages that a browser prefers, in its order, which browsers send by weight. The script
 * chooses the page's language by the browser's own list; this one decides what is loaded early.
 */
function acceptedLanguages(header = ''): readonly string[] {
  return header
    .split(',', MAX_LANGUAGES)
    .map((range) => range.split(';', 1)[0]!.trim())
    .filter((tag) => /^[\w-]{1,35}$/.test(tag))
}

/** The document for users of one language. It is the same for every link. */
function documentIn(
  tag: string,
  {
    path,
    prefix,
    style,
    scriptHash,
    scriptIntegrity,
    start,
    languages,
    languagesHash,
    documentWords,
  }: PhonePageFiles & PageAddress,
  { appScheme, appLinks }: Settings,
): string {
  const text = documentWords.get(tag)!
  const scheme =
    appLinks.apple.length + appLinks.android.length > 0
      ? `<meta name="bonded-app-scheme" content="${appScheme}">`
      : ''
  // Beside the script, which would request the words only after its own arrival.
  const words = languages.has(tag)
    ? `<link rel="preload" as="fetch" href="/bond/words-${languagesHash}/${prefix}${tag}.json" crossorigin="anonymous">\n`
    : ''
  return `<!doctype html>
<html lang="${tag}" dir="${directionOf(tag)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="robots" content="noindex">
<meta name="google" content="notranslate">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#ffffff" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#12181f" media="(prefers-color-scheme: dark)">
${scheme}<title translate="no">Approve on your phone</title>
${words}<style>${style}</style>
<script defer src="${path}/page-${scriptHash}.js" integrity="${scriptIntegrity}" crossorigin="anonymous"></script>
</head>
<body><main><article class="unloaded"><h1>${text.unloadedTitle}</h1><p>${text.unloadedBody}</p><noscript><p lang="en" dir="ltr">This page needs JavaScript. Turn it on for this site.</p></noscript><a class="button" href="">${text.retry}</a></article><article hidden data-screen="too_old"><h1>${text.tooOldTitle}</h1><p>${text.tooOldBody}</p></article></main><script>${start}</script></body>
</html>
`
}
