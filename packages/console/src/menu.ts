import { includes, type Role } from './roles.ts'

/** The entries of the menu, with the role that its page needs. */
const MENU = [
  { to: '/', text: 'Start', role: 'viewer' },
  { to: '/rejections', text: 'Rejections', role: 'support' },
  { to: '/health', text: 'Health', role: 'viewer' },
  { to: '/changes', text: 'Changes', role: 'viewer' },
  { to: '/tenants', text: 'Tenants', role: 'viewer' },
  { to: '/log', text: 'Receipt log', role: 'viewer' },
  { to: '/nodes', text: 'Nodes', role: 'viewer' },
] as const satisfies readonly { to: string; text: string; role: Role }[]

export function menuOf(role: Role) {
  return MENU.filter((entry) => includes(role, entry.role))
}
