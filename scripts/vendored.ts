/**
 * Packages that contain the compiled code of others in their tarball, so that it installs alone.
 * They name those as development dependencies, and what those need as their own dependencies.
 */
export const VENDORED: Readonly<Record<string, readonly string[]>> = {
  integrator: ['contract'],
}
