import { SERVER_CREDENTIAL } from '@bonded/contract'
import { revokeKey } from '../../packages/core/src/operations/admin/keys.ts'
import { serveBench } from '../bench-service.ts'

/**
 * The service for three tenants: the attacked one, another one, and one with a revoked key. Limits
 * reject nothing, so that only shedding protects the attacked tenant. The parent names the
 * server credential to revoke.
 */
const service = await serveBench({ tenants: 3 })
process.on('message', ({ revoke }: { revoke?: string }) => {
  if (revoke !== undefined) void revokeKey(service, SERVER_CREDENTIAL.exec(revoke)?.[1] ?? '')
})
