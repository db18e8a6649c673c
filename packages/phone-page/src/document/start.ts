/* oxlint-disable no-var, prefer-const, prefer-template, prefer-arrow-callback -- it is ES5 */

/*
 * The inline script of the page's document. It runs in every browser, before the page's script
 * arrives: it tells a browser that cannot run that one, and requests the invitation.
 */

/** What the document offers its other script. */
interface EarlyPage {
  /** The response to the invitation of this link, if the page will ask for it. */
  bondedInvitation?: Promise<Response>
}

var page: Window & typeof globalThis & EarlyPage = window

if (isTooOld()) showTooOld()
else requestInvitation()

/**
 * Each of these came with an oldest supported browser: Safari 16.4 and Firefox 113, and Chrome 108.
 */
function isTooOld(): boolean {
  return !page.CompressionStream || !page.CSS.supports('height', '1dvh')
}

function showTooOld(): void {
  var main = page.document.querySelector('main')!
  // The page's script, if this browser can read it, does not start in such an element.
  main.setAttribute('data-too-old', '')
  main.removeChild(main.firstElementChild!)
  main.firstElementChild!.removeAttribute('hidden')
}

function requestInvitation(): void {
  var link = /^\?session_id=(sess_[0-9A-Za-z]{22})&nonce=([\w-]{43})$/.exec(page.location.search)
  var isPhone = page.matchMedia('(any-pointer: coarse)').matches && page.PublicKeyCredential
  if (!link || !isPhone || hasDevice()) return
  page.bondedInvitation = page.fetch('/api/v1/sessions/' + link[1] + '/invitation', {
    headers: { accept: 'application/json', 'x-bond-nonce': link[2]! },
    redirect: 'error',
  })
  page.bondedInvitation.catch(function () {})
}

/** A phone that is set up claims the session, and reads no invitation. */
function hasDevice(): boolean {
  try {
    return page.localStorage.getItem('bonded-device') === 'true'
  } catch {
    return false
  }
}
