import { startPortal } from './portal.ts'
import { createPortalService } from './service.ts'

const root = document.querySelector('main')
if (root !== null) main(root)

function main(root: HTMLElement): void {
  let token = takeToken()
  const service = createPortalService(
    (url, init) => fetch(url, init),
    () => token,
  )
  const portal = startPortal(root, service)
  // The page around the frame can renew the link without loading the frame again.
  window.addEventListener('hashchange', () => {
    const renewed = takeToken()
    if (renewed === '') return
    token = renewed
    portal.reload()
  })
  portal.reload()
}

/** Takes the token out of the address, so that neither history nor bookmarks have it. */
function takeToken(): string {
  const token = location.hash.slice(1)
  if (token !== '') history.replaceState(null, '', location.pathname)
  return token
}
