/*
 * What the script loads as a module of its own, before it draws a QR code: the encoder of QR codes,
 * the checks and the layout of the container, and the rules of the watch.
 */
export { encodeQr } from '@bonded/contract'
export { fitIn } from '../container/fit.ts'
export { watchContainer } from '../container/watch-container.ts'
export { reduceWatch } from '../session/watch-reducer.ts'
export { initialWatch } from '../session/watch-state.ts'
