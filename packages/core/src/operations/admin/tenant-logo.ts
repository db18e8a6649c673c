import type { TenantId } from '@bonded/contract'
import { problemOfLogo } from '../../domain/logo.ts'
import type { Service } from '../service.ts'
import { OperatorError, tenantNotFound } from './operator-error.ts'

/**
 * Sets or removes the logo that the widget shows beside the tenant's name. A running service
 * applies it within a second.
 *
 * @throws {OperatorError} where the tenant does not exist or the file is not a logo
 */
export async function setLogo(
  service: Service,
  id: TenantId,
  file: Uint8Array | null,
): Promise<void> {
  const logo = file && storedLogo(service, file)
  await service.store.write(function* (tables) {
    if (!(yield* tables.tenants.setLogo(id, logo))) throw tenantNotFound(id)
  })
}

/** A new name for each file, so that browsers may cache each file without a limit. */
function storedLogo({ random }: Service, file: Uint8Array): { name: string; bytes: Uint8Array } {
  const problem = problemOfLogo(file)
  if (problem !== undefined)
    throw new OperatorError(`The logo was rejected: ${problem}`, { code: 'invalid' })
  return { name: `${random.base62(22)}.png`, bytes: file }
}
