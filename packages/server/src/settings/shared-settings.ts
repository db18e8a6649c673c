import type { SharedSettings } from '@bonded/store/postgres/node-settings'
import type { Config } from './config.ts'

/**
 * The settings that all nodes of a database must share at every moment, because they decide what a
 * phone signs, which keys are accepted or registered, which pages may use them, and whose address
 * counts for limits.
 */
export function sharedSettings(
  config: Pick<
    Config,
    'environment' | 'publicOrigin' | 'rpId' | 'formerRpIds' | 'relatedOrigins' | 'trustedProxies'
  >,
): SharedSettings {
  const { environment, publicOrigin, rpId, formerRpIds, relatedOrigins, trustedProxies } = config
  return {
    BONDED_ENVIRONMENT: environment,
    BONDED_PUBLIC_ORIGIN: publicOrigin,
    BONDED_RP_ID: rpId,
    // A service that accepts any has no list.
    BONDED_RP_ID_FORMER: formerRpIds === undefined ? '*' : formerRpIds.toSorted().join(),
    BONDED_RELATED_ORIGINS: relatedOrigins ? 'on' : 'off',
    BONDED_TRUST_PROXY:
      typeof trustedProxies === 'number'
        ? String(trustedProxies)
        : trustedProxies.rules.toSorted().join(),
  }
}
