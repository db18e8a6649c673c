/** What an operator may do here, from the least on. Each role includes those before it. */
export const ROLES = ['viewer', 'support', 'admin'] as const
export type Role = (typeof ROLES)[number]

/** Whether a role includes another one. */
export function includes(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed)
}
