import type { PhoneError } from '@bonded/simulator'

/** Why the simulated phone failed, and what to do about it. */
export function explainPhone({ code, reason }: PhoneError): string {
  switch (code) {
    case 'handoff_unreadable':
      return reason === 'no_code'
        ? 'No QR code was found in this picture. Use a sharper or larger picture.'
        : 'This is not the QR code or the link of a session. Copy the link behind “Help”, or take a screenshot of the QR code.'
    case 'unreachable':
      return 'The service did not answer. Check that it is running, and name its address with --origin.'
    default:
      if (reason === 'credential_invalid')
        return 'The service does not know the key of this phone. Usually another phone has removed it. Delete phone.json in the data folder of the phone, which then registers a new key.'
      if (reason === 'key_already_registered')
        return 'The key of the second phone is registered already. Name an empty or new folder with --new-phone.'
      if (reason === 'format_not_enabled' || reason === 'attestation_invalid')
        return `The service rejected the key of this phone (${reason}). Start a sandbox service with BONDED_TEST_ROOTS set to the phone’s test-roots.json, or use --format software.`
      return `The phone could not continue: ${reason ?? code}.`
  }
}
