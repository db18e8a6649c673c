/*
 * The request headers of the protocol, in lower case, as a server reads them.
 */
/** The watch token with which a page reads its session. */
export const WATCH_HEADER = 'x-bond-watch'
/** The nonce of the QR code, with which a phone reads who requests approval. */
export const NONCE_HEADER = 'x-bond-nonce'
/** The secret with which a backend completes the session that it created. */
export const COMPLETION_SECRET_HEADER = 'x-bond-completion-secret'
/** The secret of the browser that submits, where the workflow requires its proof. */
export const BROWSER_SECRET_HEADER = 'x-bond-browser-secret'
/** The digest of the form that the backend is about to accept. */
export const CONTEXT_DIGEST_HEADER = 'x-bond-context-digest'
/** What the backend did with the request. */
export const OUTCOME_HEADER = 'x-bond-outcome'
