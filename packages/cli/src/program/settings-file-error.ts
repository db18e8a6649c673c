/** Everything that is wrong with a file of settings, or with an option that names it. */
export class SettingsFileError extends Error {
  override readonly name = 'SettingsFileError'
}
