/**
 * Flags with which Node runs the service.
 *
 * V8's young generation starts at 1 MB, and every request leaves garbage there. A larger one is
 * collected less often, and each collection copies fewer live objects. In measurements, 16 MB saved
 * 8% to 10% of a lifecycle's CPU. 8 MB saves nearly as much and takes 13 MB less memory when idle.
 */
export const RUNTIME_FLAGS = ['--disable-warning=ExperimentalWarning', '--min-semi-space-size=8']
