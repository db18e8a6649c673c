// The four names that the examples of the README take from the integrator's own program.
import process from 'node:process'

export const service = {
  baseUrl: `${process.env.ORIGIN}/api/v1`,
  serverCredential: process.env.CREDENTIAL,
}
export const userOf = (cookie) => /^login=(\w+)$/.exec(cookie ?? '')?.[1]
export const drafts = new Map([['anna', { amount: 12_500 }]])
export const saved = []
export const save = async (draft) => `A-${saved.push(draft)}`
