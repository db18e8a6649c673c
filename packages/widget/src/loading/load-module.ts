import { element } from '../view/dom.ts'

/**
 * Loads a module of the service.
 *
 * The browser compares the preloaded module with the integrity value in this script, and the import
 * takes that module. Neither needs a Trusted Types policy.
 */
export async function loadModule<Module>({ href }: URL, integrity: string): Promise<Module> {
  const link = element('link', { rel: 'modulepreload', href, integrity, crossorigin: '' })
  try {
    await new Promise((resolve, reject) => {
      link.addEventListener('load', resolve)
      link.addEventListener('error', reject)
      document.head.append(link)
    })
    return (await import(href)) as Module
  } finally {
    link.remove()
  }
}
