import { QR_CONTENTS, type QrContent } from '@bonded/contract'
import type { AppLinks } from '@bonded/core/operations/service'
import type { SettingReader } from './setting-reader.ts'
import { isThisMachine } from './this-machine.ts'

/**
 * Reads what QR codes contain. Without an app of the operator, a link that any phone opens: no
 * other program opens the app's scheme.
 */
export function readQrContent(options: SettingReader & { readonly appLinks: AppLinks }): QrContent {
  const { given, wrong, appLinks } = options
  const hasApp = hasAppLinks(appLinks) || given('BONDED_APP_SCHEME') !== undefined
  const fallback = hasApp ? 'app_scheme' : 'universal_link'
  const wanted = given('BONDED_QR_CONTENT') ?? fallback
  const content = QR_CONTENTS.find((each) => each === wanted)
  if (content === undefined) wrong('BONDED_QR_CONTENT')
  return content ?? fallback
}

/** Which phones a QR code opens, for the operator who starts the service. */
export function describeQrContent(settings: {
  readonly publicOrigin: string
  readonly qrContent: QrContent
  readonly appScheme: string
  readonly appLinks: AppLinks
}): string {
  if (isThisMachine(new URL(settings.publicOrigin).hostname))
    return `opens on this computer only: a phone cannot reach ${settings.publicOrigin}. For a phone, set BONDED_PUBLIC_ORIGIN to an https address that it reaches, such as a tunnel’s`
  if (settings.qrContent === 'app_scheme')
    return `opens only on phones with an app for ${settings.appScheme}://. Set BONDED_QR_CONTENT=universal_link for any phone`
  return hasAppLinks(settings.appLinks)
    ? 'opens on any phone: in your app where it is installed, otherwise in the browser'
    : 'opens on any phone, in its browser'
}

function hasAppLinks({ apple, android }: AppLinks): boolean {
  return apple.length + android.length > 0
}
