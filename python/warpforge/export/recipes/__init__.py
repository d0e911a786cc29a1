"""The product's workloads, one line each in `RECIPES`. Nothing is downloaded: weights are random, from a seed."""

from warpforge.export.recipes.bert import Bert
from warpforge.export.recipes.detection import BackboneAndProposals
from warpforge.export.recipes.llama import LlamaBlock, LlamaLora
from warpforge.export.recipes.mlp import Mlp
from warpforge.export.recipes.recipe import Recipe
from warpforge.export.recipes.resnet import ResNet50

RECIPES: dict[str, type[Recipe]] = {
    recipe.name: recipe for recipe in (Mlp, Bert, ResNet50, BackboneAndProposals, LlamaBlock, LlamaLora)
}

__all__ = ["RECIPES", "Recipe"]
