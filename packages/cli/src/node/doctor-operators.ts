import type { Service } from '@bonded/core/operations/service'
import type { Config } from '@bonded/server/settings/config'
import { localOperator } from '../program/operator.ts'

/** Enough entries that several operators would have made some of them, and a cheap query. */
const LOOKED_AT = 500
/** From so many commands on, one name is worth a question. */
const SEVERAL = 5

/** Reports as whom a command from here is recorded, and whether all operators share a name. */
export function reportOperators(config: Config) {
  return async ({ store }: Service) => {
    const { actor, origin } = localOperator(config)
    const newest = { newestFirst: true, hasContent: true, limit: LOOKED_AT } as const
    const entries = await store.read(({ audit }) => audit.list(newest))
    const names = entries.flatMap(({ actorKind, actor: name }) =>
      actorKind === 'operator' ? [name] : [],
    )
    const warnings: string[] = []
    if (origin === 'account' && config.environment === 'production')
      warnings.push(
        `Neither a login nor sudo names the operator of this process, so commands need --operator. The name is only stated.`,
      )
    if (names.length >= SEVERAL && new Set(names).size === 1)
      warnings.push(
        `All of the last ${names.length} commands of operators were recorded as ${names[0]}. If several people run commands, give each an account, or have each state a name.`,
      )
    return {
      says: `A command from here is recorded as ${actor.name}, at ${actor.address}.`,
      warnings,
    }
  }
}
