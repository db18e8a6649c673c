/**
 * How the runtime is started for the service.
 *
 * V8's young generation begins at 1 MB and every request leaves garbage there: with 16 MB it is cleared a tenth as
 * often, and what was in use at that moment is copied a tenth as often. Measured: 8 to 10 % less CPU a lifecycle.
 */
export const RUNTIME_FLAGS = ['--disable-warning=ExperimentalWarning', '--min-semi-space-size=16']
