/*
 * What the script loads as a module of its own, before it draws a QR code: the checks and the
 * layout of the container, and the rules of the watch.
 */
export { fitIn } from '../container/fit.ts'
export { watchContainer } from '../container/watch-container.ts'
export { initialWatch, reduceWatch } from '../session/watch-reducer.ts'
