/** The reserved container: by id, or the first element with `data-pulse-widget`. */
export function findContainer(containerId: string | undefined): HTMLElement | null {
  return containerId === undefined
    ? document.querySelector<HTMLElement>('[data-pulse-widget]')
    : document.getElementById(containerId)
}
