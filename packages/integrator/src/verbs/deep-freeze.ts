/**
 * Freezes an object and, at any depth, the objects and lists in it. Instances of classes, such as
 * errors, stay as they are.
 */
export function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value)) if (isPlain(member)) deepFreeze(member)
  return Object.freeze(value)
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null
}
