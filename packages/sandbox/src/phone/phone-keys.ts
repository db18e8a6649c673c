import { resolve } from 'node:path'
import type { DeviceId } from '@bonded/contract'
import type { SimulatedPhone } from '@bonded/simulator'
import { Command } from 'commander'
import { readConfig, type SettingFlags } from '@bonded/server/settings/config'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { deviceArgument } from '@bonded/cli/program/arguments'
import type { Options } from '@bonded/cli/program/open'
import { fields, print, table } from '@bonded/cli/program/output'

/** The options of a command of the phone. */
export interface PhoneOptions extends Options {
  readonly origin?: string
}

/** Opens the simulated phone. `folder` names the folder of another one. */
export type OpenPhone = (
  options: SettingFlags & { readonly origin?: string; readonly folder?: string },
) => SimulatedPhone

/** `bonded phone list-keys`, `add-key` and `remove-key`: the keys of the simulated phone's user. */
export function keyCommands(openPhone: OpenPhone): readonly Command[] {
  const list = new Command('list-keys')
    .description('List the keys of the user of the simulated phone, oldest first')
    .action(async (options: PhoneOptions) => {
      const keys = await (await openPhone(options).library()).listKeys()
      const names = ['device_id', 'status', 'format', 'created_at', 'own'] as const
      print(options, keys, table(names, keys, 'No keys.'))
    })
  const add = new Command('add-key')
    .description('Add the key of a second simulated phone for the same user')
    .requiredOption(
      '--new-phone <folder>',
      'Data folder of the second phone; it is created if it does not exist',
    )
    .action(async (options: PhoneOptions & { newPhone: string }) => {
      const document = await addKey(openPhone, options)
      print(options, document, [
        ...fields(document),
        '',
        `Use the second phone with: bonded phone approve --data-dir ${options.newPhone}`,
      ])
    })
  const remove = new Command('remove-key')
    .description('Permanently remove a key of the user of the simulated phone')
    .addArgument(deviceArgument())
    .action(async (device_id: DeviceId, options: PhoneOptions) => {
      const phone = openPhone(options)
      const { device_id: own } = await phone.register()
      await (await phone.library()).removeKey(device_id)
      if (device_id === own) await phone.reset()
      print(options, { device_id, status: 'removed', own: device_id === own }, [
        `Removed ${device_id}.`,
        ...(device_id === own
          ? ['It was the key of this phone, which registers a new key at its next use.']
          : []),
      ])
    })
  return [list, add, remove]
}

/** Plays both sides of the transfer: the user carries two messages between the phones. */
async function addKey(
  openPhone: OpenPhone,
  { newPhone, ...options }: PhoneOptions & { readonly newPhone: string },
) {
  const folder = resolve(newPhone)
  if (folder === resolve(readConfig(process.env, options).dataDir))
    throw new OperatorError('The second phone must have a data folder of its own', {
      code: 'invalid',
    })
  const phone = await openPhone(options).library()
  const second = await openPhone({ ...options, folder }).library()
  const added = await phone.addKey(await second.proposeKey())
  const { device_id, subject_id, format } = await second.acceptKey(added)
  const { device_id: approved_by } = await phone.register()
  return { device_id, subject_id, format, approved_by, folder }
}
