import { outsideText } from '@bonded/contract'

type Claims = Readonly<Record<string, unknown>>

/**
 * A claim by its name, or by its path, such as `realm_access.roles`. A name can have dots itself,
 * as that of an address has, so a member with the longer name counts first.
 */
export function claimAt(claims: unknown, path: string): unknown {
  if (typeof claims !== 'object' || claims === null) return undefined
  if (Object.hasOwn(claims, path)) return (claims as Claims)[path]
  for (let dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
    const name = path.slice(0, dot)
    const inner = Object.hasOwn(claims, name) ? (claims as Claims)[name] : undefined
    const found = claimAt(inner, path.slice(dot + 1))
    if (found !== undefined) return found
  }
  return undefined
}

/** The texts of a claim, which is one text or a list. */
export function textsOf(claim: unknown): readonly string[] {
  return (Array.isArray(claim) ? claim : [claim]).filter((one) => typeof one === 'string')
}

/** Why a claim gives no role, for the operator, who can read the own ID token. */
export function describeGroups(claims: Claims, path: string): string {
  const name = `The claim ${outsideText(path)} of the ID token`
  const claim = claimAt(claims, path)
  const texts = textsOf(claim)
  if (texts.length > 0)
    return `${name} has ${outsideText(texts.join(', '))}. The access file gives none of them a role.`
  // Microsoft Entra ID leaves out the groups of a user who has more than 200.
  if (Object.hasOwn(Object(claims['_claim_names']) as object, path))
    return `${name} is left out, because it would be too long. Let the provider send only the groups of this application, or app roles.`
  if (claim === undefined)
    return `${name} is missing. Let the provider add it to the ID token, not only to the user info, or change groups_claim.`
  if (Array.isArray(claim) && claim.length === 0) return `${name} is an empty list.`
  const shape = Array.isArray(claim) ? 'a list of objects' : `of the type ${typeof claim}`
  const members = Object.keys(Object(Array.isArray(claim) ? claim[0] : claim) as object)
  const has = members.length === 0 ? '' : `, with the members ${outsideText(members.join(', '))}`
  return `${name} is ${shape}${has}. groups_claim must name a list of texts, such as realm_access.roles.`
}
