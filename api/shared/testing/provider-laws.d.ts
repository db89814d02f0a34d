import { ModelPart } from "../model/request.js";
import { Provider } from "../providers/provider.js";
/** Gives a provider that answers every request with these parts; one that cannot be told what to say may ignore them. */
type MakeProvider = (parts: readonly ModelPart[]) => Provider;
/** What every provider promises. `check` throws when the promise is broken. */
interface ProviderLaw {
  readonly law: string;
  check(make: MakeProvider): Promise<void>;
}
declare const providerLaws: readonly ProviderLaw[];
export { MakeProvider, ProviderLaw, providerLaws };
