import { ModelPart } from "../model/request.js";
import { Provider } from "../providers/provider.js";
/**
 * Creates a provider that answers every request with these parts. A provider whose replies cannot be chosen ignores
 * them.
 */
type MakeProvider = (parts: readonly ModelPart[]) => Provider;
/** A promise of every provider. `check` throws when it is broken. */
interface ProviderLaw {
  readonly law: string;
  check(make: MakeProvider): Promise<void>;
}
declare const providerLaws: readonly ProviderLaw[];
export { MakeProvider, ProviderLaw, providerLaws };
