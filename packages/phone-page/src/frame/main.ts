import { type BrowserFrame, directionOf } from '@bonded/contract'
import { purposeOf } from '@bonded/phone'
import { chooseLanguage } from '../messages/language.ts'
import { startFrame } from './confirm.ts'
import { drawFrame } from './draw.ts'
import { wordsOf } from './messages.ts'
import { FRAME_PROTOCOL, isPermitted, isPlaced, readStart, type Start } from './parent-message.ts'
import { createFrameService } from './service.ts'

const root = document.querySelector('main')
if (root !== null) main(root)

function main(root: HTMLElement): void {
  const tell = (type: string, origin: string) =>
    window.parent.postMessage({ bonded: FRAME_PROTOCOL, type }, origin)
  const nothing = () => {}
  const stop = (name: 'misplaced' | 'unsupported') =>
    drawFrame(root, { name }, lookOf(null, { onConfirm: nothing, onReopen: nothing }))
  if (!isPlaced({ self: window, parent: window.parent, top: window.top })) return stop('misplaced')
  // Without the permission, every prompt would fail as if the user had canceled it.
  if (!isPermitted(document)) {
    stop('unsupported')
    return tell('blocked', '*')
  }
  const onMessage = (event: MessageEvent<unknown>) => {
    const start = readStart(event, window.parent)
    if (start === undefined) return
    // A page that replaced the session under the user's finger could have the click prove another.
    window.removeEventListener('message', onMessage)
    run(root, start, (end) => tell(end, start.parentOrigin))
  }
  window.addEventListener('message', onMessage)
  // The page is not known yet. The message says only that the frame listens.
  tell('ready', '*')
}

function run(root: HTMLElement, start: Start, end: (end: 'done' | 'failed') => void): void {
  if (start.theme !== null) document.documentElement.dataset['theme'] = start.theme
  if (start.accent !== null) document.documentElement.style.setProperty('--given', start.accent)
  const look = lookOf(start.language, {
    onConfirm: () => void frame.confirm(),
    onReopen: () => void frame.open(),
  })
  const frame = startFrame(start, {
    tenantId: location.pathname.split('/').at(-1) ?? '',
    service: createFrameService((url, init) => fetch(url, init)),
    credentials: typeof PublicKeyCredential === 'undefined' ? undefined : navigator.credentials,
    sha256: async (text) =>
      new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))),
    show: (screen) => drawFrame(root, screen, look),
    end,
  })
  void frame.open()
}

function lookOf(language: string | null, acts: { onConfirm: () => void; onReopen: () => void }) {
  const languages = [...(language === null ? [] : [language]), ...navigator.languages]
  const tag = chooseLanguage(languages)
  const words = wordsOf(tag)
  document.documentElement.lang = tag
  document.documentElement.dir = directionOf(tag)
  document.title = words.title
  return { ...acts, words, languages, titleOf }
}

/** The request in words: its titles, else the names of workflow and action. */
function titleOf(request: BrowserFrame, languages: readonly string[]): string {
  return purposeOf({ ...request, display: [] }, languages) ?? ''
}
