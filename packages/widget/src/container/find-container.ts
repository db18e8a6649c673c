/** The reserved container: by id, or the first element with `data-pulse-widget`. */
export function findContainer(containerId: string | null | undefined): HTMLElement | null {
  return containerId
    ? document.getElementById(containerId)
    : document.querySelector<HTMLElement>('[data-pulse-widget]')
}
