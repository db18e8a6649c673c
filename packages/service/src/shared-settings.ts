import type { SharedSettings } from './adapters/sql/postgres/node-settings.ts'
import type { Config } from './config.ts'

/**
 * The settings that all nodes of a database must share at every moment, because they decide what a
 * phone signs, which keys are accepted, and whose address counts for limits.
 */
export function sharedSettings(
  of: Pick<Config, 'environment' | 'publicOrigin' | 'trustedProxies'>,
): SharedSettings {
  const { environment, publicOrigin, trustedProxies } = of
  return {
    BONDED_ENVIRONMENT: environment,
    BONDED_PUBLIC_ORIGIN: publicOrigin,
    BONDED_TRUST_PROXY:
      typeof trustedProxies === 'number'
        ? String(trustedProxies)
        : trustedProxies.rules.toSorted().join(),
  }
}
