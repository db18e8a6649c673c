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
  /** JSON of the words of each language but English, by its tag. */
  readonly languages: ReadonlyMap<string, string>
  /** Hexadecimal hash of all languages, used in their URLs. */
  readonly languagesHash: string
  /** The service's frame in the pages of tenants. */
  readonly frame: DocumentFiles
  /** The portal of webhooks. */
  readonly portal: DocumentFiles
}

/**
 * Loads the files at the first request, because bundling them takes longer than starting the
 * service.
 */
export type LoadPhonePage = () => Promise<PhonePageFiles>

export const PHONE_PAGE_PATH = '/bond'
const SCRIPT_PATH = '/bond/page-:hash.js'
const LANGUAGE_PATH = '/bond/words-:hash/:language.json'

/**
 * Serves the page of a handoff link, where the user approves on a phone without the app. The
 * document is the same for every link. A request for it changes no state, because messengers fetch
 * links to preview them.
 */
export function servePhonePage(
  app: FastifyInstance,
  { service, load }: { readonly service: Service; readonly load: LoadPhonePage },
): void {
  const page = buildOnce(async () => assemble(await load(), service.settings))

  app.get(PHONE_PAGE_PATH, limitPage(service, 'handoff'), async (request, reply) => {
    const { html, contentSecurityPolicy } = await page()
    reply
      .header('content-security-policy', contentSecurityPolicy)
      .header('permissions-policy', PERMISSIONS_POLICY)
      // A page that opened this one cannot navigate it to another request under the user's finger.
      .header('cross-origin-opener-policy', 'same-origin')
    return sendStaticFile(request, reply, { file: html, cacheControl: 'no-cache' })
  })
  app.get(SCRIPT_PATH, limitPage(service, 'handoff'), async (request, reply) => {
    const { script, scriptHash } = await page()
    return sendHashedFile(request, reply, { file: script, hash: scriptHash })
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

interface ServedPage extends Pick<PhonePageFiles, 'scriptHash' | 'languagesHash'> {
  readonly html: StaticFile
  readonly script: StaticFile
  /** Each is compressed when it is first requested: all of them take a second. */
  readonly languages: ReadonlyMap<string, () => Promise<StaticFile>>
  readonly contentSecurityPolicy: string
}

async function assemble(
  files: PhonePageFiles,
  { publicOrigin, appScheme, appLinks }: Settings,
): Promise<ServedPage> {
  const { script, scriptHash, scriptIntegrity, style, styleHash, languages, languagesHash } = files
  const socketOrigin = publicOrigin.replace(/^http/, 'ws')
  const scheme =
    appLinks.apple.length + appLinks.android.length > 0
      ? `<meta name="bonded-app-scheme" content="${appScheme}">`
      : ''
  return {
    script: await staticFile(script, 'text/javascript; charset=utf-8'),
    scriptHash,
    languages: new Map(
      [...languages].map(([tag, words]) => {
        let file: Promise<StaticFile> | undefined
        return [tag, () => (file ??= staticFile(words, 'application/json; charset=utf-8'))] as const
      }),
    ),
    languagesHash,
    contentSecurityPolicy: [
      "default-src 'none'",
      "script-src 'self'",
      `style-src '${styleHash}'`,
      `connect-src 'self' ${socketOrigin}`,
      // The logos of tenants, which the service serves.
      "img-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ].join('; '),
    html: await staticFile(
      `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#ffffff" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#12181f" media="(prefers-color-scheme: dark)">
${scheme}<title>Approve on your phone</title>
<style>${style}</style>
<script defer src="/bond/page-${scriptHash}.js" integrity="${scriptIntegrity}" crossorigin="anonymous"></script>
</head>
<body><main><noscript><article><h1>This page needs JavaScript</h1><p>Turn on JavaScript for this site, then open the link again.</p></article></noscript></main></body>
</html>
`,
      'text/html; charset=utf-8',
    ),
  }
}
