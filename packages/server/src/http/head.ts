/** The JSON API: its clients never ask for headers alone. */
const API_PREFIX = '/api/'

/** Whether a path that answers GET also answers HEAD: health, scripts and pages do. */
export function answersHead(path: string): boolean {
  return !path.startsWith(API_PREFIX)
}
