/** The part of Trusted Types that the loader uses. */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ): { createScriptURL(url: string): string }
}

let policy: ReturnType<TrustedTypes['createPolicy']> | undefined

/**
 * The address of a script as a page with `require-trusted-types-for 'script'` accepts it. Such a
 * page allows the policy `bonded-pulse`. The address itself where a browser does not know Trusted
 * Types, or where the page does not allow the policy.
 */
export function trustedScriptUrl(url: string): string {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
  try {
    policy ??= trustedTypes?.createPolicy('bonded-pulse', { createScriptURL: (given) => given })
  } catch {
    // A page may limit the names of policies without requiring Trusted Types.
  }
  return policy?.createScriptURL(url) ?? url
}
