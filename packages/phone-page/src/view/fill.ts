import { element } from './dom.ts'

/** The values of a message's placeholders. */
export type Values = Readonly<Record<string, string>>

const PLACEHOLDER = /(\{\w+\})/

/** A message with its placeholders replaced, once: braces in a value stay as they are. */
export function fill(message: string, values: Values): string {
  return message
    .split(PLACEHOLDER)
    .map((part) => valueOf(part, values) ?? part)
    .join('')
}

/**
 * The same as nodes. Each value is isolated, so that a name in a right-to-left script cannot change
 * the order of the words around it, and no translator changes it.
 */
export function fillNodes(message: string, values: Values): (Node | string)[] {
  return message.split(PLACEHOLDER).map((part) => {
    const value = valueOf(part, values)
    return value === undefined ? part : element('bdi', { translate: 'no' }, value)
  })
}

function valueOf(part: string, values: Values): string | undefined {
  const name = part.slice(1, -1)
  return PLACEHOLDER.test(part) && Object.hasOwn(values, name) ? values[name] : undefined
}
