// What the suite has named besides agents: contexts with the fibers behind them, scope keys, receivers, services.
import { bindScopeParent, createScope, scopeTarget } from '@deepseek-ai/dsh-scope'
import { Context } from '@deepseek-ai/cordis'
import { Fault } from './values.mjs'

/** The states of a fiber in the order of their numbers. */
const STATES = ['pending', 'loading', 'active', 'failed', 'disposed', 'unloading']

export class Places {
  plugins = new Map()
  services = new Map()
  #contexts = new Map()
  #fibers = new Map()
  #owners = new WeakMap()
  #mounting
  #keys = new Map()
  #bindings = new Map()
  #targets = new Map()
  #labels = new Map()

  constructor(world) {
    this.world = world
    this.#know('root', world.root)
    world.root.on('internal/status', (fiber, from) => {
      if (!this.#owners.has(fiber) && this.#mounting !== undefined) this.#owners.set(fiber, this.#mounting)
      const owner = this.#owners.get(fiber)
      if (owner === undefined) return // a part of the composition, or what an agent mounts
      world.row({ on: 'status', owner, id: fiber.uid, from: STATES[from], to: STATES[fiber.state] })
    })
  }

  /** Mount something under a name: the first rows about its fiber are made before the call answers. */
  mount(name, work) {
    const outer = this.#mounting
    this.#mounting = name
    let context
    try {
      context = work()
    } finally {
      this.#mounting = outer
    }
    this.#know(name, context)
  }

  #know(name, context) {
    const { fiber } = context // the handle that a mount answers is a shadow of it
    this.#fibers.set(name, fiber)
    this.#owners.set(fiber, name)
    this.derived(name, context)
  }

  /** Name a context that owns nothing itself. */
  derived(name, context) {
    this.#contexts.set(name, context)
    this.world.name(name, context)
  }

  context(name) {
    return find(this.#contexts, name, 'context')
  }

  fiber(name) {
    return find(this.#fibers, name, 'owner')
  }

  owner(fiber) {
    return this.#owners.get(fiber)
  }

  state(name) {
    const { uid: id, state, name: called, _error: error } = this.fiber(name)
    return { id, state: STATES[state], name: called, error }
  }

  /** The key of a name, made when it is first mentioned. */
  key(name) {
    if (!this.#keys.has(name)) {
      const key = {}
      this.#keys.set(name, key)
      this.world.names.set(key, name)
    }
    return this.#keys.get(name)
  }

  openScope(name, context, key, parent) {
    let scope
    this.mount(name, () => {
      scope = createScope(context, key, parent === undefined ? undefined : { parent })
      return scope.ctx
    })
    this.world.disposers.set(name, scope.rawDispose)
    this.#fibers.get(name).closeScope = scope.dispose
  }

  bind(name, key, parent) {
    this.#bindings.set(name, bindScopeParent(key, parent))
  }

  binding(name) {
    return find(this.#bindings, name, 'binding')
  }

  /** A receiver, with a filter perhaps; a carrier where `carried` is given: what it carries the scope of. */
  target(name, { filter, base, carried }) {
    let target = base === undefined ? {} : this.receiver(base)
    if (filter !== undefined) target[Context.filter] = function (context) { return filter(context, this) }
    if (base === undefined) this.world.names.set(target, name)
    if (carried !== undefined) target = scopeTarget(target, carried.key)
    this.#targets.set(name, target)
    this.world.names.set(target, name)
  }

  receiver(which) {
    return typeof which === 'string' ? find(this.#targets, which, 'target') : find(this.services, which.service, 'service')
  }

  /** What is the same for the same label of a realm, and for no other. */
  label(name) {
    if (!this.#labels.has(name)) this.#labels.set(name, Symbol(name))
    return this.#labels.get(name)
  }
}

function find(map, name, what) {
  if (map.has(name)) return map.get(name)
  throw new Fault(`there is no ${what} ${JSON.stringify(name)}`)
}
